package cli

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionOf(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	require.Equal(t, "(devel)", versionOf(&debug.BuildInfo{}))
	ours := func(version string) debug.Module { return debug.Module{Path: modulePath, Version: version} }
	require.Equal(t, "v1.2.3", versionOf(&debug.BuildInfo{Main: ours("v1.2.3")}))
	require.Equal(t, "(devel) abc modified", versionOf(&debug.BuildInfo{
		Main:     ours("(devel)"),
		Settings: []debug.BuildSetting{setting("vcs.revision", "abc"), setting("vcs.modified", "true"), setting("GOOS", "linux")},
	}))
	require.Equal(t, "v1.0.0 abc", versionOf(&debug.BuildInfo{
		Main:     ours("v1.0.0"),
		Settings: []debug.BuildSetting{setting("vcs.revision", "abc"), setting("vcs.modified", "false")},
	}))
}

// "go tool leakgate" builds the command in the user's module.
func TestVersionOfTool(t *testing.T) {
	dep := debug.Module{Path: modulePath, Version: "v1.2.3"}
	info := &debug.BuildInfo{
		Main:     debug.Module{Path: "example.com/app", Version: "(devel)"},
		Deps:     []*debug.Module{{Path: "github.com/leakgate/leakgate", Version: "v1.2.4"}, &dep},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}},
	}
	require.Equal(t, "v1.2.3", versionOf(info))
	dep.Replace = &debug.Module{Path: "../leakgate"}
	require.Equal(t, "(devel)", versionOf(info))
}
