package recurrence

// Set replaces the rule by the one in a text: JSON as [Parse] reads it, or cron text as [Cron] reads it. It returns their errors and then leaves the
// rule unchanged. With Set and [Recurrence.String] a *Recurrence is a flag.Value:
//
//	rule := recurrence.Recurrence{Cron: "0 3 * * *"} // the default
//	flag.Var(&rule, "at", "when the backup runs, as `JSON or cron text`")
//
// The help shows the default in English. If the flag is given twice, the last value wins.
func (r *Recurrence) Set(text string) error {
	read, err := readText(text)
	if err != nil {
		return err
	}
	*r = read
	return nil
}
