package protocol

// ProgressReport is the progress of a job's handler. It counts if the session holds the job with that fence.
type ProgressReport struct {
	Partition Partition
	Session   string
	ID        string
	Fence     int64
	Progress  []byte
}
