package wire

// Follow returns the body of the job that follows a death: the OnDeath of the dead job, with the data of that job. dead is the dead job's
// envelope; d has the other data about it, without its Body; schedule is its schedule, empty if it has none. Without an
// OnDeath Follow returns nil. Its errors are those of DecodeEnvelope.
func Follow(dead *Envelope, d Death, schedule string) ([]byte, error) {
	if dead.Details == nil || len(dead.Details.OnDeath) == 0 {
		return nil, nil
	}
	follow, err := DecodeEnvelope(dead.Details.OnDeath)
	if err != nil {
		return nil, err
	}
	dying, details := *dead, *dead.Details
	details.OnDeath, details.Death = nil, nil
	dying.Details = &details
	if len(dying.Payload) > MaxDeathPayload {
		dying.Payload = nil
	}
	d.Body = dying.Encode()
	var own Details
	if follow.Details != nil {
		own = *follow.Details
	}
	own.Death, own.Enqueued = &d, d.Ended
	follow.Details, follow.Planned, follow.Schedule = &own, d.Ended, schedule
	if schedule != "" {
		follow.Planned = dead.Planned
	}
	return follow.Encode(), nil
}
