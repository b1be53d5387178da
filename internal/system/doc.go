// Package system tests chime as a whole: days of schedules under fake time on an in-memory Redis, and real processes on a real
// Redis behind a network that loses replies.
package system
