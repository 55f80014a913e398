package exercises

// chapter09 holds the exercises of the chapter "Sampling and the cache".
var chapter09 = answers{
	"cache-row":            cacheRow,
	"sampling-temperature": samplingTemperature,
	"sampling-mixture":     samplingMixture,
}

// cacheRow finds y. Keys k and values v of all n tokens are in the cache, and q is the query of the newest token,
// one row. What does it receive?
//
// The matrices are m["…"] of q (1, e), k (n, e), v (n, f).
func cacheRow(m Named) Matrix { return hole }

// samplingTemperature finds p. The logits are logarithms, z = log(u), one column for each of v tokens. The
// temperature is 1/3. What is the distribution?
//
// The matrices are m["…"] of u (n, v), and z = log(u).
func samplingTemperature(m Named) Matrix { return hole }

// samplingMixture finds r. Speculative decoding draws from a cheap distribution q and then corrects it. Where q is
// too small for the true p, the remainder p − min(p, q) must be drawn. Written with relu, what is the corrected
// distribution, divided by its sum?
//
// The matrices are m["…"] of z (n, v), u (n, v), and p = softmax(z), q = softmax(u).
func samplingMixture(m Named) Matrix { return hole }
