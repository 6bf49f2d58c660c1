package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// printVersion is the command "leakgate version".
func printVersion(c *context, args []string) int {
	if len(args) > 0 {
		return c.usageError("version takes no arguments", "help version")
	}
	fmt.Fprintln(c.stdout, "leakgate "+version()+" "+runtime.Version()+" "+runtime.GOOS+"/"+runtime.GOARCH)
	return exitPass
}

// version is the module's version and, for a build from a checkout, its revision.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown version)"
	}
	return versionOf(info)
}

func versionOf(info *debug.BuildInfo) string {
	words := []string{info.Main.Version}
	if info.Main.Version == "" {
		words[0] = "(devel)"
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			words = append(words, s.Value)
		case s.Key == "vcs.modified" && s.Value == "true":
			words = append(words, "modified")
		}
	}
	return strings.Join(words, " ")
}
