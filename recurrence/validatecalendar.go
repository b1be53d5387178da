package recurrence

// checkCalendar refuses shift, shiftBy and clockChanges that do not go with the rest of the rule. An unknown
// word has been refused already.
func (r Recurrence) checkCalendar(list *errorList, given map[string]source) {
	has := func(field string) bool { _, ok := given[field]; return ok }
	add := func(code Code, field, format string, args ...any) {
		list.add(given[field].at, newError(code, field, given[field].value, format, args...))
	}
	if unit := r.unit(); r.ClockChanges != ClockOnce && r.ClockChanges <= ClockShown && unit != 0 && unit < Day {
		add(CodeClockChangesFrequency, "clockChanges", "goes with frequency day, week, month or year and with cron fields, not with %v, which follows elapsed time", unit)
	}
	if r.ShiftBy < -maxShiftBy || r.ShiftBy > maxShiftBy {
		add(CodeShiftByRange, "shiftBy", "must be -%d to %d", maxShiftBy, maxShiftBy)
	}
	if r.ShiftBy != 0 {
		if path, unit := r.ofElapsedTime(); unit != 0 {
			add(CodeShiftByFrequency, "shiftBy", "goes with frequency day, week, month or year and with cron fields, not with %v%s", unit, of(path))
		}
	}
	if r.Shift == ShiftDrop || r.Shift > ShiftNearestInMonth {
		return
	}
	if !has("only") && !has("except") {
		add(CodeShiftAlone, "shift", "needs only or except: without them no day is closed")
	}
	if path, unit := r.ofElapsedTime(); unit != 0 {
		add(CodeShiftFrequency, "shift", "goes with frequency day, week, month or year and with cron fields, not with %v%s", unit, of(path))
	}
	for path, rule := range r.rules() {
		if len(rule.Positions) > 0 {
			add(CodeShiftPositions, "shift", "does not go with positions%s: they count the open days and never fall on a closed one", of(path))
			break
		}
	}
}

// ofElapsedTime returns the path and the frequency of the first rule that follows elapsed time, so that it has no days to move. unit is 0 if there is
// no such rule.
func (r Recurrence) ofElapsedTime() (path string, unit Frequency) {
	for path, rule := range r.rules() {
		if unit := rule.unit(); unit != 0 && unit < Day {
			return path, unit
		}
	}
	return "", 0
}

// of names the rule of also that an error is about.
func of(path string) string {
	if path == "" {
		return ""
	}
	return " of " + path
}

// unit returns the frequency of the rule, also the frequency of an @every. It is 0 for cron fields and for a rule that runs once.
func (r Recurrence) unit() Frequency {
	if r.Cron == "" {
		return r.Frequency
	}
	fields, err := compileCron(r.Cron)
	if err != nil {
		return 0 // another check refuses it
	}
	return fields.every.Frequency
}
