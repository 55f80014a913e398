// Package preference tunes a language model on preferences. Start with NewDPO, which learns from pairs of answers to a
// prompt, of which one is preferred. Or start with NewGRPO, which lets the model answer prompts, lets a function score
// the answers, and makes those likelier that scored better than the others to the same prompt. Both keep the model near
// the one before the tuning, and compare the two on prompts that were not trained on. Package paired says how certain a
// difference is.
package preference
