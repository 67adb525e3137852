"""`python -m p2psub`: the command line, by the interpreter one names."""

from p2psub.cli.main import app

app()
