package goruntime

import (
	"errors"
	"testing"
)

func TestVersions(t *testing.T) {
	for version, ok := range map[string]bool{
		"go1.26": true, "go1.26.8": true, "go1.27rc1": true, "go1.27.3 X:nogreenteagc": true, "devel go1.27-abc Mon": true,
		"go1.25.9": false, "go1.28.0": false, "devel go1.99-abc": false, "go2.0": false, "": false, "go1.": false,
	} {
		_, err := semanticsFor(version)
		if (err == nil) != ok {
			t.Errorf("%q: %v", version, err)
		}
		var unknown *VersionError
		if err != nil && (!errors.As(err, &unknown) || unknown.Version != version) {
			t.Errorf("%q: %v is no VersionError of it", version, err)
		}
	}
}
