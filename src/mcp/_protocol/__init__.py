"""The protocol's rules as synchronous code: no I/O, no event loop, no framework."""
