package resource

// A TaskName identifies a task.
type TaskName struct{ Collection, Task string }
