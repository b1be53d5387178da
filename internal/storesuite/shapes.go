package storesuite

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// Shapes describes the shapes of the default queue, in the order of names and shapes: failed attempts, seconds from an instant to the first and the last,
// ID of the last, hours and versions.
func (b *Bench) Shapes(since time.Time) string {
	b.Helper()
	found, err := b.Store.Shapes(b.Context(), "default")
	if err != nil {
		b.Fatal(err)
	}
	slices.SortFunc(found, func(a, b protocol.ErrorShape) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Shape, b.Shape))
	})
	var lines []string
	for _, s := range found {
		line := fmt.Sprintf("%s %q %d from %v to %v by %s", s.Name, s.Shape, s.Count, s.First.Sub(since), s.Last.Sub(since), s.ID)
		for _, hour := range slices.SortedFunc(maps.Keys(s.Hours), time.Time.Compare) {
			line += fmt.Sprintf(" %d:%d", hour.Hour(), s.Hours[hour])
		}
		for _, version := range slices.Sorted(maps.Keys(s.Versions)) {
			line += fmt.Sprintf(" %s=%d", version, s.Versions[version])
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// Failures of one name with one shape are one entry. It remains when the job is gone, and the end of the session adds the last ones.
func (s *Suite) TestShapesAreCountedOnce(t *testing.T) {
	s.onMinutes(t, func(b *Bench, at func(int) time.Time) {
		b.RegisterDefault()
		began := at(0) // 09:00
		b.Enqueue(Job("a"))
		taken := b.Take("s", 1)
		shape := func(name, shape, version, id string, n int64, first, last int) protocol.MeasuredShape {
			return protocol.MeasuredShape{
				Name: name, Shape: shape, Version: version, Count: n, First: began.Add(time.Duration(first) * time.Second), Last: began.Add(time.Duration(last) * time.Second), ID: id,
			}
		}
		at(1)
		first := protocol.WorkCall{Measured: &protocol.Measured{Number: 1, Shapes: []protocol.MeasuredShape{
			shape("mail", "no bank #\tx", "v1", "job 1", 3, 1, 5), shape("mail", "", "", "a-2", 1, 2, 2), shape("resize", "no bank #\tx", "v1", "a-3", 1, 4, 4),
		}}}
		b.Work("s", first)
		want := "mail \"\" 1 from 2s to 2s by a-2 9:1\nmail \"no bank #\\tx\" 3 from 1s to 5s by job 1 9:3 v1=3\nresize \"no bank #\\tx\" 1 from 4s to 4s by a-3 9:1 v1=1"
		b.Want("the shapes", b.Shapes(began), want)
		b.Repeat("s", first)
		b.Want("after the same call", b.Shapes(began), want)
		at(65)
		b.Work("s", protocol.WorkCall{Measured: &protocol.Measured{Number: 2, Shapes: []protocol.MeasuredShape{shape("mail", "no bank #\tx", "v2", "a-4", 2, 3700, 3800)}}})
		b.Settle("s", protocol.Settlement{ID: "a", Fence: taken[0].Fence, Kind: protocol.SettleDone})
		end := &protocol.Measured{Number: 3, Shapes: []protocol.MeasuredShape{shape("mail", "no bank #\tx", "v1", "a-5", 1, 0, 1<<20)}} // ahead of the clock
		for range 2 {
			if err := b.Store.CloseSession(b.Context(), DefaultPartition, "s", end); err != nil {
				b.Fatal(err)
			}
		}
		b.Want("at the end", b.Shapes(began), "mail \"\" 1 from 2s to 2s by a-2 9:1\nmail \"no bank #\\tx\" 6 from 0s to 1h5m0s by a-5 9:3 10:3 v1=4 v2=2\nresize \"no bank #\\tx\" 1 from 4s to 4s by a-3 9:1 v1=1")
		at(30 * 60)
		b.Enqueue(Job("b"))
		b.Take("t", 1)
		var more []protocol.MeasuredShape
		for i := range 4 {
			more = append(more, shape("mail", "no bank #\tx", fmt.Sprint("v", 3+i), "b", 1, 30*3600-1, 30*3600-1))
		}
		for i := range more {
			b.Work("t", protocol.WorkCall{Measured: &protocol.Measured{Number: int64(i + 1), Shapes: more[i : i+1]}})
		}
		b.Want("a day later", strings.Split(b.Shapes(began), "\n")[1], "mail \"no bank #\\tx\" 10 from 0s to 29h59m59s by b 15:4 v4=1 v5=1 v6=1")
	})
}

// However many different errors there are, a partition keeps about a hundred of them with 32 KiB, those that failed last.
func (s *Suite) TestShapesAreBounded(t *testing.T) {
	s.onMinutes(t, func(b *Bench, at func(int) time.Time) {
		b.RegisterDefault()
		began := at(0)
		b.Enqueue(Job("a"))
		b.Take("s", 1)
		for call, want := range []int{40, 80, 100, 100, 100, 49} {
			now, id := at(call+1), "a"
			if call >= 4 {
				id = strings.Repeat("i", 600)
			}
			var shapes []protocol.MeasuredShape
			for i := range 40 {
				shapes = append(shapes, protocol.MeasuredShape{Name: "mail", Shape: fmt.Sprintf("%d-%02d", call, i), Count: 1, First: now, Last: now, ID: id})
			}
			b.Work("s", protocol.WorkCall{Measured: &protocol.Measured{Number: int64(call + 1), Shapes: shapes}})
			found := b.Shapes(began)
			if n, newest := strings.Count(found, "mail "), strings.Count(found, fmt.Sprintf(" \"%d-", call)); n != want || newest != 40 {
				b.Errorf("after call %d there are %d shapes, %d of them of this call; want %d and 40", call, n, newest, want)
			}
		}
	})
}
