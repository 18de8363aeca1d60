window.clef.budgetLengths = () => null;
