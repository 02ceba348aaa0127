def run(path, tool, runtime): pass
