package rtlayout

import (
	"errors"
	"testing"
)

func TestVersions(t *testing.T) {
	for version, ok := range map[string]bool{
		"go1.26": true, "go1.26.8": true, "go1.27rc1": true, "go1.27.3 X:nogreenteagc": true, "go1.27.3-X:nogreenteagc,mapsplitgroup": true, "devel go1.27-abc Mon": true,
		"go1.25.9": false, "go1.28.0": false, "devel go1.99-abc": false, "go2.0": false, "": false, "go1.": false,
		"go1.27.3 X:arenas": false, "go1.27.3 X:nogreenteagc,movinggc": false, "go1.26.8 X:nomovinggc": false, "go1.28.0 X:simd": false,
	} {
		_, err := SemanticsOf(version)
		if (err == nil) != ok {
			t.Errorf("%q: %v", version, err)
		}
		var unknown *VersionError
		if err != nil && (!errors.As(err, &unknown) || unknown.Version != version) {
			t.Errorf("%q: %v is no VersionError of it", version, err)
		}
	}
}

func TestVersionErrorNamesTheSetting(t *testing.T) {
	err := CheckVersion("go1.27.3 X:simd,movinggc,jsonv2")
	const want = "the program was built with GOEXPERIMENT=movinggc (go1.27.3 X:simd,movinggc,jsonv2); what that does to the runtime's structures is not known"
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

func TestSupportedVersions(t *testing.T) {
	if got := SupportedVersions(); got != "Go 1.26 and 1.27" {
		t.Error(got)
	}
}
