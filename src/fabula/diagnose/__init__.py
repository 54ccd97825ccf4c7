"""What makes a score what it is: the same predictions under other rules, and what each rule is worth."""
