"""The version of Cepheid: driver and workers must have the same."""

VERSION = "0.1.0"
