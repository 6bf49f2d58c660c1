package main

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionOf(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	require.Equal(t, "(devel)", versionOf(&debug.BuildInfo{}))
	require.Equal(t, "v1.2.3", versionOf(&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}))
	require.Equal(t, "(devel) abc modified", versionOf(&debug.BuildInfo{
		Main:     debug.Module{Version: "(devel)"},
		Settings: []debug.BuildSetting{setting("vcs.revision", "abc"), setting("vcs.modified", "true"), setting("GOOS", "linux")},
	}))
	require.Equal(t, "v1.0.0 abc", versionOf(&debug.BuildInfo{
		Main:     debug.Module{Version: "v1.0.0"},
		Settings: []debug.BuildSetting{setting("vcs.revision", "abc"), setting("vcs.modified", "false")},
	}))
}
