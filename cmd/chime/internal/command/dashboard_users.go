package command

import (
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime/internal/login"
)

// maxUsersFile is how long the file with those who may log in may be, in bytes.
const maxUsersFile = 1 << 20

func (s *session) dashboardToken() *cobra.Command {
	rights := "view"
	c := &cobra.Command{
		Use: "token NAME", Short: "Make a token for somebody", Args: cobra.ExactArgs(1),
		Long: "token prints a token, which is NAME's password and stands nowhere else, and below it the line for --auth-file.\n\n" +
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

// readUsers reads the file with those who may log in. Others may not read it, and none but its owner change it.
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
	const others = 0o027 // anything for others, and writing for the group
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&others != 0 {
		return nil, fmt.Errorf("others may use it, for its mode is %#o: want at most 0640; chmod 600 does it", mode)
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
