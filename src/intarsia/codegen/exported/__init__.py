"""The folder that is exported: the network, how it is built, an example, a test, and what runs them in an emulator."""
