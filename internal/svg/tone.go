package svg

// A Tone is what something means, and so its colour and its shape: of a line, a run, a cell of a heat map. They stand in the order of how bad
// they are: a cell shows the worst.
type Tone uint8

// The tones; each has the token of its name, Missed that of Late.
const (
	Accent Tone = iota // a figure that is neither good nor bad
	OK                 // done
	Run                // running
	Off                // skipped, cancelled, superseded, snoozed
	Paused             // paused
	Late               // late
	Missed             // did not run
	Fail               // failed, dead, crashed
)

// known is the tone itself, or Accent if it is none of the constants.
func (t Tone) known() Tone {
	if t > Fail {
		return Accent
	}
	return t
}

// class is the tone's class.
func (t Tone) class() string {
	classes := [...]string{Accent: "accent", OK: "ok", Run: "run", Off: "off", Paused: "paused", Late: "late", Missed: "missed", Fail: "fail"}
	return classes[t.known()]
}

// word is what a run of this tone is called where the caller has no word of its own.
func (t Tone) word() string {
	switch t {
	case Run:
		return "running"
	case Off:
		return "dropped"
	case Paused:
		return "paused"
	case Late:
		return "late"
	case Missed:
		return "missed"
	case Fail:
		return "failed"
	}
	return "done"
}
