//go:build go1.25

package freeze

import "runtime"

func setDefaultProcessors() { runtime.SetDefaultGOMAXPROCS() }
