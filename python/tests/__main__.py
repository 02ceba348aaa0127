"""Runs every test and prints how many passed, failed and were skipped, and why."""
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent

suite = unittest.defaultTestLoader.discover(str(HERE), top_level_dir=str(HERE.parent))
result = unittest.TextTestRunner(verbosity=1).run(suite)
bad = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
for reason in sorted({reason for _, reason in result.skipped}):
    print(f"python: skipped: {reason}")
print(f"python: {result.testsRun} tests, {result.testsRun - bad - len(result.skipped)} passed, "
      f"{bad} failed, "
      f"{len(result.skipped)} skipped")
sys.exit(0 if result.wasSuccessful() and result.testsRun else 1)
