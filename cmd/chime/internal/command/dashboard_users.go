package command

import (
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime/internal/login"
)

// maxUsersFile limits the size of the file of users, in bytes.
const maxUsersFile = 1 << 20

func (s *session) dashboardToken() *cobra.Command {
	rights := "view"
	c := &cobra.Command{
		Use: "token NAME", Short: "Make a token for somebody", Args: cobra.ExactArgs(1),
		Long: "token prints a token and below it the line for --auth-file. The token is NAME's password and is not stored anywhere.\n\n" +
			"Rights are view (all pages), operate (pause, resume, run now, backfill, retry, cancel), edit (create and change schedules, set limits),\n" +
			"delete (schedules, jobs, queues) and reveal (arguments and results of jobs). One does not include another.",
		Example: "  chime dashboard token anna --rights view,operate",
		RunE: func(_ *cobra.Command, args []string) error {
			token, line, err := login.NewUser(args[0], rights)
			if err != nil {
				return usage("%w", err)
			}
			_, err = fmt.Fprintf(s.Out, "%s\n%s\n", token, line)
			return err
		},
	}
	c.Flags().StringVar(&rights, "rights", rights, "`rights` with commas between them: view,operate,edit,delete,reveal")
	return c
}

// readUsers reads the file of users. It must not be readable for other users, and only its owner may be able to change it.
func readUsers(name string) (login.Users, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	const others = 0o027 // every right of other users, and the group's right to write
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&others != 0 {
		return nil, fmt.Errorf("other users have access to it: its mode is %#o, want at most 0640; run chmod 600", mode)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxUsersFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxUsersFile {
		return nil, fmt.Errorf("it has more than %d bytes", maxUsersFile)
	}
	return login.ReadUsers(string(text))
}
