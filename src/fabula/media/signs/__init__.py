"""Text in the pictures of films: signs, logos, burnt-in subtitles, with their times.

What is read and what not, and how often it is right: docs/read-signs.md."""
