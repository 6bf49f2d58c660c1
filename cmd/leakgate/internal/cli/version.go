package cli

import (
	"runtime/debug"
	"strings"
)

const modulePath = "github.com/leakgate/leakgate/cmd/leakgate"

// Version is the module's version and, for a build from a checkout, its revision.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown version)"
	}
	return versionOf(info)
}

// Release is the version of this module, "(devel)" for a build from a checkout.
func Release() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)"
	}
	return releaseOf(info)
}

// releaseOf returns this module's version. In a build by "go tool" this module is among the
// dependencies, and the user's module is the main one.
func releaseOf(info *debug.BuildInfo) string {
	for _, dep := range info.Deps {
		if dep.Path == modulePath && dep.Replace == nil {
			return dep.Version
		}
	}
	if info.Main.Path != modulePath || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

func versionOf(info *debug.BuildInfo) string {
	words := []string{releaseOf(info)}
	if info.Main.Path != modulePath {
		return words[0] // the revision is that of the user's module
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
