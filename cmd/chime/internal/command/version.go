package command

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (s *session) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", GroupID: groupTools, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			version, goVersion := "unknown", ""
			if info, ok := debug.ReadBuildInfo(); ok {
				version, goVersion = info.Main.Version, info.GoVersion
			}
			value := map[string]string{"version": version, "go": goVersion}
			return s.printer().Item(version, value, fmt.Sprintf("chime %s, %s\n", version, goVersion))
		},
	}
}
