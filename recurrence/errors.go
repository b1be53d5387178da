package recurrence

// A Code names what is wrong with a rule; programs may branch on it.
type Code string
