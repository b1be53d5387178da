// Command chime shows and repairs what chime keeps in Redis: schedules, jobs, queues and workers. chime next and chime explain show what a rule or
// a cron line means; they need no Redis.
//
//	chime next '30 2 * * *' --rule-zone Europe/Berlin
//	REDIS_URL=redis://127.0.0.1:6379 chime schedules list
//
// chime -h lists all commands, and chime COMMAND -h its flags.
package main

import (
	"os"
	_ "time/tzdata" // the command runs where there is no zone database

	"github.com/chimejobs/chime/cmd/chime/internal/command"
)

func main() { os.Exit(command.Main()) }
