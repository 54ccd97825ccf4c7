"""SoccerNet."""
