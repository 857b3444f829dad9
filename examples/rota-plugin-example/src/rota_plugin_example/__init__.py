"""An example of a scheduling plugin for Rota; see the README."""
