"""The verbs, in five groups: a typed library call in a file each, and its command in the group's commands/."""
