package verdict

import (
	"fmt"
	"runtime/debug"
)

const module = "github.com/leakgate/leakgate"

// Library returns the version of leakcheck in this program, "" if it is not a released one.
func Library() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return libraryOf(info)
}

func libraryOf(info *debug.BuildInfo) string {
	for _, dep := range info.Deps {
		if dep.Path == module && dep.Replace == nil && dep.Version != "(devel)" {
			return dep.Version
		}
	}
	return ""
}

// CheckSchema returns an error, with the remedy, where a record has another schema than ours. The
// record was left by the given version of leakcheck, and is read by the given version of leakgate;
// either may be "".
func CheckSchema(schema int, leakcheck, leakgate string) error {
	if schema == Schema {
		return nil
	}
	remedy := "go get " + module + "@" + named(leakgate, "latest") // which an older library needs
	if schema > Schema {
		remedy = "go run " + module + "/cmd/leakgate@" + named(leakcheck, "latest") + ", or go get -tool of the same"
	}
	return fmt.Errorf("this leakgate (%s) reads records of version %d, and leakcheck (%s) writes version %d: %s",
		named(leakgate, "of no release"), Schema, named(leakcheck, "of no release"), schema, remedy)
}

func named(version, otherwise string) string {
	if version == "" || version == "(devel)" {
		return otherwise
	}
	return version
}
