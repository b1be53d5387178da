package recurrence

import "time"

// NextN returns the first n runs strictly after t of a job that is created at t, in order. It returns fewer than n if Count, EndTime or the year 2200
// comes first, and none if n is not positive. Count includes a run at t itself, such as the run at creation. The errors are those of
// [Recurrence.Series]. NextN compiles the rule each time, so use [Series.After] for repeated calls.
func (r Recurrence) NextN(t time.Time, n int) ([]time.Time, error) {
	s, err := r.Series(t)
	if err != nil {
		return nil, err
	}
	var runs []time.Time
	for at := range s.All() {
		if len(runs) >= n {
			break
		}
		if at.After(t) {
			runs = append(runs, at)
		}
	}
	return runs, nil
}
