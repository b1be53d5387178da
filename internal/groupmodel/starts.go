package groupmodel

// starts are the starts of a group that count, as pairs: the instants of the first and the last start of each, and their number. If more than
// 32 starts are allowed, a start within Per/32 of a pair's first joins it. A pair counts until more than Per has passed since its last one. So there
// are never more than Starts in any Per.
type starts []pair

type pair struct {
	first, last int64
	n           int
}

const pairs = 32

// passed removes what no longer counts.
func (s *starts) passed(now, per int64) {
	for len(*s) > 0 && now > (*s)[0].last+per {
		*s = (*s)[1:]
	}
}

func (s starts) count() (n int) {
	for _, p := range s {
		n += p.n
	}
	return n
}

// add adds a start, if at most limit may count.
func (s *starts) add(now, per int64, limit int) {
	if last := len(*s) - 1; last >= 0 && (now == (*s)[last].last || limit > pairs && pairs*(now-(*s)[last].first) <= per) {
		(*s)[last].last, (*s)[last].n = now, (*s)[last].n+1
		return
	}
	*s = append(*s, pair{now, now, 1})
}

// giveBack removes one start from the oldest pair, if the start at this instant still counts.
func (s *starts) giveBack(began int64) {
	if len(*s) == 0 || began < (*s)[0].first || began > (*s)[len(*s)-1].last {
		return
	}
	if (*s)[0].n--; (*s)[0].n == 0 {
		*s = (*s)[1:]
	}
}

// stepBack makes instants that are later than the clock those of now.
func (s starts) stepBack(now int64) {
	for i := range s {
		s[i].first, s[i].last = min(s[i].first, now), min(s[i].last, now)
	}
}

// opens is the instant at which a start is free, if at most limit may count. It is now or earlier if one is free already.
func (s starts) opens(limit int, per int64) int64 {
	for i, n := 0, s.count(); i < len(s); i++ {
		if n -= s[i].n; n < limit {
			return s[i].last + per + 1
		}
	}
	return 0
}
