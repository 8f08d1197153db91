"""The files of `catalog/measurements/`: what each column takes, and who is meant by a name."""
