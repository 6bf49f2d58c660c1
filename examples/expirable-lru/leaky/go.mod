module example.com/weather

go 1.26.0

replace github.com/leakgate/leakgate => ../../..

require (
	github.com/hashicorp/golang-lru/v2 v2.0.7
	github.com/leakgate/leakgate v0.0.0-00010101000000-000000000000
)
