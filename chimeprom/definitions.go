package chimeprom

// A definition describes a metric.
type definition struct {
	name, kind, help string
	labels           []string
	storeWide        bool
}

// definitions are all metrics, in the order of docs/monitoring.md.
var definitions = []definition{
	{"chime_jobs_enqueued_total", "counter", "Jobs that the store accepted from this process.", []string{"queue", "job"}, false},
	{"chime_jobs_ended_total", "counter", "Attempts that have ended: done, failed, snoozed, dead, cancelled, superseded, missed or expired.", []string{"queue", "job", "outcome"}, false},
	{"chime_jobs_returned_total", "counter", "Jobs given back without an outcome: not begun in time, or cut off when the worker ended.", []string{"queue", "job"}, false},
	{"chime_results_refused_total", "counter", "Results that came too late: another worker had the job.", []string{"queue"}, false},
	{"chime_job_run_seconds", "histogram", "Handler time of an attempt.", []string{"queue", "job"}, false},
	{"chime_job_wait_seconds", "histogram", "Time from the instant at which a job was due or enqueued to its start.", []string{"queue"}, false},
	{"chime_job_panics_total", "counter", "Attempts that panicked.", []string{"queue", "job"}, false},
	{"chime_job_timeouts_total", "counter", "Attempts that ran past their timeout.", []string{"queue", "job"}, false},
	{"chime_jobs_parked_total", "counter", "Jobs set aside, because this program cannot run them.", []string{"queue", "job"}, false},
	{"chime_schedule_lateness_seconds", "histogram", "Time from the instant at which an occurrence was due to its first start.", []string{"schedule"}, false},
	{"chime_schedule_placing_lag_seconds", "histogram", "How long a schedule was owed its next occurrence.", nil, false},
	{"chime_schedule_occurrences_total", "counter", "Occurrences placed, started, skipped, missed, caught_up, superseded; started manually: triggered, backfilled.", []string{"schedule", "event"}, false},
	{"chime_worker_slots", "gauge", "Handlers that may run at the same time.", nil, false},
	{"chime_worker_slots_busy", "gauge", "Handlers that run.", nil, false},
	{"chime_worker_handlers_stuck", "gauge", "Handlers past their timeout that still run.", nil, false},
	{"chime_sessions_lost_total", "counter", "Sessions that this process has lost: other workers got its jobs.", []string{"queue"}, false},
	{"chime_leader_changes_total", "counter", "How often a scheduler of this process began to lead.", nil, false},
	{"chime_leader", "gauge", "1 while a scheduler of this process leads.", nil, false},
	{"chime_store_call_seconds", "histogram", "Calls of the store.", []string{"op"}, false},
	{"chime_store_errors_total", "counter", "Calls of the store that failed.", []string{"op"}, false},
	{"chime_store_trouble", "gauge", "Roles for which the store does not answer, by what they tried.", []string{"op"}, false},

	{"chime_queue_jobs", "gauge", "Jobs that are waiting, delayed, running, taken ahead, dead or parked, and those of vanished workers; in_flight in place of running and taken if it is not known which have begun.", []string{"queue", "state"}, true},
	{"chime_queue_oldest_seconds", "gauge", "Waiting time of the job that has waited longest, among those that run next.", []string{"queue"}, true},
	{"chime_queue_outbox", "gauge", "Jobs that follow others and are on their way to other queues.", []string{"queue"}, true},
	{"chime_queue_outbox_oldest_seconds", "gauge", "How long the oldest of these is on its way.", []string{"queue"}, true},
	{"chime_queue_groups", "gauge", "Groups with waiting jobs: may_start, or blocked: paused, ordered, running, starts.", []string{"queue", "state"}, true},
	{"chime_queue_groups_oldest_seconds", "gauge", "Waiting time of the oldest job that is first in its group.", []string{"queue", "state"}, true},
	{"chime_queue_paused", "gauge", "1 if the queue is paused.", []string{"queue"}, true},
	{"chime_queue_sessions", "gauge", "Sessions of workers that hold jobs.", []string{"queue"}, true},
	{"chime_queue_ended_total", "counter", "Jobs done, attempts failed, jobs dead and jobs expired since the queue exists.", []string{"queue", "outcome"}, true},
	{"chime_schedules", "gauge", "Schedules that are live, paused or completed.", []string{"state"}, true},
	{"chime_schedules_owed", "gauge", "Live schedules that have been without a placed next occurrence for a second.", nil, true},
	{"chime_batches", "gauge", "Batches that are kept: open, running, done, ended, cancelled.", []string{"state"}, true},
	{"chime_batches_oldest_seconds", "gauge", "Age of the oldest batch that has not ended.", []string{"state"}, true},
	{"chime_leader_term", "gauge", "How often the schedulers have had a new leader.", nil, true},
	{"chime_schedule_next_timestamp_seconds", "gauge", "Next planned instant of a live schedule.", []string{"schedule"}, true},
	{"chime_schedule_last_success_timestamp_seconds", "gauge", "End of the last run that is done.", []string{"schedule"}, true},
	{"chime_schedule_period_seconds", "gauge", "Longest time between two of the next planned instants of a live schedule.", []string{"schedule"}, true},
	{"chime_schedule_acknowledged", "gauge", "1 if the schedule is failing and somebody has acknowledged that.", []string{"schedule"}, true},
	{"chime_scrape_errors_total", "counter", "Reads of the store that failed: the store-wide metrics are absent then.", nil, true},
}

var byName = func() map[string]*definition {
	all := make(map[string]*definition, len(definitions))
	for i := range definitions {
		all[definitions[i].name] = &definitions[i]
	}
	return all
}()

func helpOf(name string) string     { return byName[name].help }
func labelsOf(name string) []string { return byName[name].labels }
