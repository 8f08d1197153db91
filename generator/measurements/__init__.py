"""The files of `catalog/measurements/`: what each column takes, and who is meant by a name."""

from generator.load import CATALOG_DIR

MEASUREMENTS_DIR = CATALOG_DIR / "measurements"
