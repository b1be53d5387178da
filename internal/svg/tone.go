package svg

// A Tone is the meaning of a line, a run or a cell of a heat map, and determines its colour and shape. Tones are ordered from good to bad, and a cell
// shows the worst one.
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

// known returns the tone, or Accent if it is not one of the constants.
func (t Tone) known() Tone {
	if t > Fail {
		return Accent
	}
	return t
}

// class returns the tone's class.
func (t Tone) class() string {
	classes := [...]string{Accent: "accent", OK: "ok", Run: "run", Off: "off", Paused: "paused", Late: "late", Missed: "missed", Fail: "fail"}
	return classes[t.known()]
}

// word returns the word for a run of this tone, if the caller gives none.
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
