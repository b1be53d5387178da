package wire

// Follow returns the body of the job that follows a death: the OnDeath of the job that died, with what died. dead is the envelope of that job as
// it was given up; d is all else that is told of it, without its Body; schedule is the one that it belonged to, empty if none. Without an
// OnDeath there is nothing to follow, and Follow returns nil. Its errors are those of DecodeEnvelope.
func Follow(dead *Envelope, d Death, schedule string) ([]byte, error) {
	if dead.Details == nil || len(dead.Details.OnDeath) == 0 {
		return nil, nil
	}
	follow, err := DecodeEnvelope(dead.Details.OnDeath)
	if err != nil {
		return nil, err
	}
	told, details := *dead, *dead.Details
	details.OnDeath, details.Death = nil, nil
	told.Details = &details
	if len(told.Payload) > MaxDeathPayload {
		told.Payload = nil
	}
	d.Body = told.Encode()
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
