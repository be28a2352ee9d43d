"""The version of Cepheid, here alone: the build reads it, and driver and workers must have the same."""

VERSION = "0.2.0.dev0"
