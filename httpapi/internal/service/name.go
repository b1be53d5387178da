package service

import (
	"crypto/rand"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

var (
	collectionName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$`)
	jobName        = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)
)

func checkCollectionName(name string) error {
	if collectionName.MatchString(name) {
		return nil
	}
	return mistake("name", "name", name, "want 1 to 40 of A-Z a-z 0-9 _ -, starting with a letter or a digit")
}

func checkJobName(n resource.JobName) error {
	if err := checkCollectionName(n.Collection); err != nil {
		return err
	}
	if jobName.MatchString(n.Job) {
		return nil
	}
	return mistake("name", "name", n.Job, "want 1 to 100 of A-Z a-z 0-9 _ . -, starting with a letter or a digit")
}

// jobOf is the job of a schedule's name.
func jobOf(schedule string) resource.JobName {
	collection, job, _ := strings.Cut(schedule, ":")
	return resource.JobName{Collection: collection, Job: job}
}

// prefixOf is the prefix of the names of a collection's schedules.
func prefixOf(collection string) string { return collection + ":" }

// A reservedName represents a job in its collection: the job, "#", the time of the reservation, "-", and a random text. So it belongs to one schedule
// only: the next schedule of that job has another one. "#" sorts before all characters of job names, so reserved names sort like job names.
//
// If two requests create the same job at the same time, there are two names for a moment; the later request releases its own.
//
// The time is approximately the store's. It separates names whose schedule may still come from names whose writer is gone.
type reservedName string

func newReservedName(job string, now time.Time) reservedName {
	return reservedName(job + "#" + strconv.FormatInt(now.Unix(), 36) + "-" + rand.Text()[:10])
}

// job is the job of the name.
func (r reservedName) job() string {
	job, _, _ := strings.Cut(string(r), "#")
	return job
}

// strayAge is the age at which a sweep releases a name without a schedule.
const strayAge = 2 * maxUnderWay

// maxUnderWay is the age after which the schedule of a name exists or never will. A third of it is the maximum error of the name's time, putTime is for the
// writer, and the rest is for a write that is still on its way to the store when the writer stops trying.
const (
	maxUnderWay = 30 * time.Second
	putTime     = 10 * time.Second
)

// at is the time of the reservation; zero if the name has another form: then it counts as old.
func (r reservedName) at() time.Time {
	_, made, _ := strings.Cut(string(r), "#")
	seconds, _, _ := strings.Cut(made, "-")
	at, err := strconv.ParseInt(seconds, 36, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(at, 0)
}

// olderThan reports whether the name was reserved more than an age before an instant.
func (r reservedName) olderThan(age time.Duration, now time.Time) bool {
	return r.at().Add(age).Before(now)
}

// A storeClock is approximately the store's clock. Each reservation returns the store's time; before the first one it is this machine's clock.
type storeClock struct{ ahead atomic.Int64 } // of this machine's, ns

func (c *storeClock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *storeClock) set(now time.Time) { c.ahead.Store(int64(time.Until(now))) }

// afterJob is the name after which the names of later jobs begin.
func afterJob(job string) string {
	if job == "" {
		return ""
	}
	return job + "#~"
}

// mistake is a problem with one field.
func mistake(code, field, value, wanted string) error {
	return problem.Invalid([]problem.Mistake{{Code: code, Field: field, Value: value, Detail: wanted}})
}
