"""The version: that of the limn whose node this client is tested with."""

__version__ = "0.1.0"
