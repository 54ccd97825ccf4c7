"""What is compared: stories, moments, regions, filled blanks and questions as plain values and ragged columns."""
