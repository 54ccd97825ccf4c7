"""How far a number, a metric, a judge or a file can be trusted."""
