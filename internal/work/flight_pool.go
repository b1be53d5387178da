package work

const maxSpareFlights = maxAhead

// A flightPool keeps the memory of flights for later ones. It belongs to the processor's goroutine.
type flightPool struct{ flights []*flight }

// get returns a flight.
func (p *flightPool) get() *flight {
	if n := len(p.flights); n > 0 {
		var f *flight
		f, p.flights = p.flights[n-1], p.flights[:n-1]
		return f
	}
	return new(flight)
}

// put takes back a flight that has ended and is settled or was dropped.
func (p *flightPool) put(f *flight) {
	if !f.isListed() && len(p.flights) < maxSpareFlights {
		*f = flight{}
		p.flights = append(p.flights, f)
	}
}
