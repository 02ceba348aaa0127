"""Runs every test and prints how many passed, failed and were skipped, and why.

A test that takes longer than TIMEOUT seconds ends the whole run with the stacks of all threads: it
may hang inside a library, where nothing of Python runs any more."""
import faulthandler
import pathlib
import sys
import unittest

TIMEOUT = 1800
HERE = pathlib.Path(__file__).resolve().parent


class TimedResult(unittest.TextTestResult):
    def startTest(self, test):
        super().startTest(test)
        faulthandler.dump_traceback_later(TIMEOUT, exit=True)

    def stopTest(self, test):
        faulthandler.cancel_dump_traceback_later()
        super().stopTest(test)


suite = unittest.defaultTestLoader.discover(str(HERE), top_level_dir=str(HERE.parent))
result = unittest.TextTestRunner(verbosity=1, resultclass=TimedResult).run(suite)
bad = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
for reason in sorted({reason for _, reason in result.skipped}):
    print(f"python: skipped: {reason}")
print(f"python: {result.testsRun} tests, {result.testsRun - bad - len(result.skipped)} passed, "
      f"{bad} failed, "
      f"{len(result.skipped)} skipped")
sys.exit(0 if result.wasSuccessful() and result.testsRun else 1)
