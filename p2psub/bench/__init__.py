"""How fast peers are: real processes over TLS on loopback, beside a bare stream that carries the same events."""
