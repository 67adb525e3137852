"""What the wheel ships beside the code: its licence, and types that a program can be checked against."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

import p2psub

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("program.py")

pytestmark = pytest.mark.xdist_group("wheel")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where an environment keeps its packages in which the pure wheel is installed, beside all that it needs."""
    room = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(room)]
    built = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    venv.create(room / "venv")
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(room / "venv")}))
    (wheel,) = room.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(packages)
    # A directory that is named in a .pth file has its own .pth files unread: the sources, installed to be edited, hide.
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return packages


def metadata(installed: Path) -> Message:
    """What the wheel says of itself."""
    (file,) = installed.glob("p2psub-*.dist-info/METADATA")
    return Parser().parsestr(file.read_text(encoding="utf-8"))


def check(installed: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Type-check the program where p2psub is installed and not written: there its marker counts."""
    shutil.copy(PROGRAM, cwd)
    python = installed.parents[2] / "bin" / "python"
    mypy = [sys.executable, "-P", "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={os.devnull}"]
    environment = {name: value for name, value in os.environ.items() if name not in {"MYPYPATH", "PYTHONPATH"}}
    return subprocess.run(
        [*mypy, f"--python-executable={python}", PROGRAM.name],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_licence_is_in_the_wheel(installed: Path) -> None:
    """As its text, and as a name that tools know."""
    (licence,) = installed.glob("p2psub-*.dist-info/licenses/LICENSE")
    assert licence.read_bytes() == (ROOT / "LICENSE").read_bytes()
    said = metadata(installed)
    assert (said["License-Expression"], said.get_all("License-File")) == ("Apache-2.0", ["LICENSE"])


def test_the_wheel_names_no_place_that_does_not_exist(installed: Path) -> None:
    """The project has no address yet."""
    assert metadata(installed).get_all("Project-URL") is None
    assert metadata(installed).get_all("Home-page") is None


def test_a_program_has_the_types_of_the_public_api(installed: Path, tmp_path: Path) -> None:
    """With what the wheel installs, in strict mode: what it states passes, and every mistake in it is found."""
    ran = check(installed, tmp_path)
    assert ran.returncode == 0, ran.stdout


def test_without_its_marker_the_package_has_no_types(installed: Path, tmp_path: Path) -> None:
    """The check above is not blind."""
    marker = installed / "p2psub" / "py.typed"
    marker.rename(marker.with_suffix(".away"))
    try:
        ran = check(installed, tmp_path)
    finally:
        marker.with_suffix(".away").rename(marker)
    assert "py.typed" in ran.stdout
    assert ran.returncode == 1


def test_the_program_uses_every_public_name() -> None:
    """A name that is exported later is checked, too."""
    tree = ast.parse(PROGRAM.read_text(encoding="utf-8"))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not set(p2psub.__all__) - used
