module example.com/prices

go 1.26.0

replace github.com/leakgate/leakgate => ../../..

require (
	github.com/failsafe-go/failsafe-go v0.9.5
	github.com/leakgate/leakgate v0.0.0-00010101000000-000000000000
)

require github.com/bits-and-blooms/bitset v1.24.4 // indirect
