"""The commands of this group: a file each, with `command` in it."""
