import java.time.Duration;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;

/** The queries of the benchmark `peers`, as FlinkCEP patterns; peers.py has the same ones. */
final class Queries {
    private static final int A = 0;
    private static final int B = 1;
    private static final int C = 2;
    private static final int D = 3;

    private Queries() {}

    static Pattern<MadeEvent, ?> named(String query, long window) {
        AfterMatchSkipStrategy past = AfterMatchSkipStrategy.skipPastLastEvent();
        AfterMatchSkipStrategy none = AfterMatchSkipStrategy.noSkip();
        Duration length = Duration.ofMillis(window);
        switch (query) {
            case "strict":
                return start(past).next("b").where(is(B)).next("c").where(is(C));
            case "seq":
                return start(past).followedBy("b").where(is(B)).followedBy("c").where(is(C)).within(length);
            case "seq no skip":
                return start(none).followedBy("b").where(is(B)).followedBy("c").where(is(C)).within(length);
            case "kleene":
                return start(none).followedBy("b").where(is(B)).oneOrMore().followedBy("c").where(is(C)).within(length);
            case "negation":
                return start(none).notFollowedBy("c").where(is(C)).followedByAny("d").where(is(D)).within(length);
            case "any":
                return start(none).followedByAny("b").where(is(B)).followedByAny("c").where(is(C)).within(length);
            case "iterative":
                return start(past)
                        .followedBy("b")
                        .where(new AffordableB())
                        .oneOrMore()
                        .followedBy("c")
                        .where(is(C))
                        .within(length);
            default:
                throw new IllegalArgumentException(query);
        }
    }

    private static Pattern<MadeEvent, MadeEvent> start(AfterMatchSkipStrategy skip) {
        return Pattern.<MadeEvent>begin("a", skip).where(is(A));
    }

    private static SimpleCondition<MadeEvent> is(int type) {
        return SimpleCondition.of(event -> event.type == type);
    }

    /** A b as long as all prices of the loop, this one's included, come to 120 at most. */
    private static final class AffordableB extends IterativeCondition<MadeEvent> {
        private static final long serialVersionUID = 1L;

        @Override
        public boolean filter(MadeEvent event, Context<MadeEvent> taken) throws Exception {
            if (event.type != B) {
                return false;
            }
            int sum = event.price;
            for (MadeEvent before : taken.getEventsForPattern("b")) {
                sum += before.price;
            }
            return sum <= 120;
        }
    }
}
